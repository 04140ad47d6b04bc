/** Detects a setting of Node.js that turns the verification of certificates off in the whole process. */

export const VERIFICATION_IS_OFF =
  "NODE_TLS_REJECT_UNAUTHORIZED is 0, so certificates of providers, issuers and other servers are not verified, and credentials " +
  "can be intercepted: unset it, and name a private authority in NODE_EXTRA_CA_CERTS";

export const isVerificationOff = (env: Readonly<Record<string, string | undefined>>): boolean =>
  env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0";
