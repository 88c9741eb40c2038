mesh broadcast --m 4
