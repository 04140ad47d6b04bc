export { type Acceptor, openAcceptor } from "./acceptor.ts";
export { takeConnections } from "./taken.ts";
