WHO = "never imported"
