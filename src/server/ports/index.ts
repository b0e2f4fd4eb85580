export { PortService } from "./port-service.js";
export { proxyRequest } from "./proxy-request.js";
