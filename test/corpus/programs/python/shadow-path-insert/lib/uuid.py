WHO = "lib first"
