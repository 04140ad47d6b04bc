export { type Acceptor, openAcceptor } from "./acceptor.ts";
export { takeConnections } from "./take-connections.ts";
