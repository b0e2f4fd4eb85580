MINE = "user's json"
