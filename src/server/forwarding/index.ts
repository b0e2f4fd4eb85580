export { Forwarder } from "./forwarder.js";
