const said: string = "other";
console.log(said);
