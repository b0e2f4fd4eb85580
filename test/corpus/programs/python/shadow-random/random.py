WHO = "user's random"
Random = None
