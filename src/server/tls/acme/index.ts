/** Certificate of the data listener by ACME (RFC 8555). */

export { AttemptFailed } from "./attempt-failed.ts";
export { openAuthority } from "./authority.ts";
export { HOSTED_API, hostedApiProvider, rfc2136Provider, tsigKeyOf } from "./dns/index.ts";
export { type AcmeSettings, openAcme } from "./open-acme.ts";
export type { CertificateStore, DnsProvider, OpenedRow, RowTable, RowWrite } from "./ports.ts";
