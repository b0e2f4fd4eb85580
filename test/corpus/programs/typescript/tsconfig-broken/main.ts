console.log("never");
