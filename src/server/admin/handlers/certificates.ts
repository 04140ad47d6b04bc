/** The data listener's certificate, as each node presents it. */

import type { CertificateRecord } from "../../../admin-api/index.ts";
import { counted, fixed, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";

/** Changes with the certificate, and with problems of a newer one. */
export function certificateList({ cluster, certificates }: Ports): ListSource<CertificateRecord> {
  return {
    ...counted((listener) => certificates.onChange(listener)),
    take() {
      const { nodeId: node } = cluster.status();
      return fixed(certificates.list().map((row) => ({ ...row, node })));
    },
  };
}
