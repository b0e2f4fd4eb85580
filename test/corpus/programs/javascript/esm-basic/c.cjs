exports.named = "from cjs";
