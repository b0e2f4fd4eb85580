module.exports = "found";
