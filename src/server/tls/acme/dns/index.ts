/** Writes the TXT records of DNS-01 challenges (RFC 8555 section 8.4). */
export { HOSTED_API, hostedApiProvider } from "./hosted-api.ts";
export { rfc2136Provider, tsigKeyOf } from "./rfc2136.ts";
