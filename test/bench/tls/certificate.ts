/** A P-256 certificate for the bench's servers, of an authority that its clients trust. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testAuthority } from "../../server/tls/support/authority.ts";
import type { CertificateFiles } from "../parts/configuration.ts";

export interface BenchCertificate extends CertificateFiles {
  /** PEM. */
  readonly root: string;
}

export async function makeCertificate(folder: string): Promise<BenchCertificate> {
  const authority = await testAuthority();
  const { chain, key } = await authority.issue();
  const [chainFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  await Promise.all([writeFile(chainFile, chain), writeFile(keyFile, key, { mode: 0o600 })]);
  return { chainFile, keyFile, root: authority.root };
}
