export default "dynamic";
