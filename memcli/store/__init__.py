"""Where memories rest: LanceDB for what is searched, SQLite for what is transactional and small."""
