mesh list
