const fs = require("fs/promises");
(async () => {
  await fs.writeFile("f.txt", "content");
  console.log(await fs.readFile("f.txt", "utf8"), (await fs.readdir(".")).sort());
  await fs.rm("f.txt");
  await fs.readFile("f.txt");
})();
