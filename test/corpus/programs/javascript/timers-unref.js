setTimeout(() => console.log("never"), 5000).unref();
require("timers/promises").setTimeout(5, "v").then(console.log);
