console.log("nobody reads");
setTimeout(() => console.error("later"), 10);
