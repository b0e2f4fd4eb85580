require("./nope");
