/** The front door's certificate by ACME (RFC 8555). */
export { type AcmeOptions, type AcmeSettings, openAcme } from "./open-acme.ts";
export type { CertificateStore, DnsProvider, Held, RowWrite } from "./ports.ts";
