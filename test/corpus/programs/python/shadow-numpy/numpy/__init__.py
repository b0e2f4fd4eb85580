WHO = "user's numpy package"
