export default { deep: "index" };
