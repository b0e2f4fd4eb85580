console.log("start");
missing();
