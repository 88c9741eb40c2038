ranks
