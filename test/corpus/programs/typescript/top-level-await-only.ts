await (async () => {
  const said: string = "awaited";
  console.log(said);
})();
