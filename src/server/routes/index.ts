export { API } from "./all-routes.js";
