try { require("./bad"); } catch (e) { console.log(e.name, e.message); }
require("./bad");
