console.log(require("pkg"), require("@scope/other/sub"), require.resolve.paths("pkg").length > 2);
