console.log(40 + 2);
