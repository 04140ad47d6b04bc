/** Port `CertificateStore` of ACME orders, over the cluster's rows: values are sealed here, before they are sent anywhere. */
import { anySignal } from "../../../base/index.ts";
import type { Cluster } from "../../cluster/index.ts";
import { acmeRowKey, certificateRowKey, commands, readAcme, readCertificate } from "../../core/state/index.ts";
import { planPutAccount, planPutCertificate } from "../../secrets/index.ts";
import type { CertificateStore, OpenedRow, RowTable } from "../../tls/index.ts";
import type { NodeSealing } from "../admin/secrets-port.ts";

const BY = { iss: "gateway", sub: "certificates" } as const;
const WRITE_MS = 10_000;
const READ_MS = 10_000;
/** Maximum wait for followers, in milliseconds; they are milliseconds behind, and unreachable ones are not waited for. */
const SPREAD_MS = 5_000;

/** Refusals that mean that the state has changed since the plan was made. */
const OUTDATED: ReadonlySet<string> = new Set(["stale", "exists", "retired_data_key"]);

export function certificateStore(
  cluster: Cluster,
  { sealing, sealed }: NodeSealing,
  now: () => number,
): CertificateStore {
  const { view } = cluster;

  const versionOf = (table: RowTable, id: string): number | undefined => {
    const text = view.get(table === "certificate" ? certificateRowKey(id) : acmeRowKey(id));
    if (text === undefined) return undefined;
    return table === "certificate" ? readCertificate(text).ver : readAcme(text).ver;
  };

  return {
    read(table, id): OpenedRow {
      const version = versionOf(table, id);
      if (version === undefined) return { kind: "none" };
      const opened = sealed.tlsSecret(table === "certificate" ? "cert" : "acme", id);
      return opened.kind === "value"
        ? { kind: "row", version, value: opened.value }
        : { kind: "sealed", version, message: opened.message };
    },
    certificates: () =>
      Array.from(view.scan(certificateRowKey("")), ([, text]) => {
        const { id, ver, not_after } = readCertificate(text);
        return { id, version: ver, notAfter: not_after };
      }),
    accounts: () =>
      Array.from(view.scan(acmeRowKey("")), ([, text]) => {
        const { id, ver, at } = readAcme(text);
        return { id, version: ver, at };
      }),
    async write({ table, id, expect, names, notAfter, value }, signal) {
      const plan =
        table === "certificate"
          ? planPutCertificate({ id, expect, names, notAfter, value }, sealing, now())
          : planPutAccount({ id, expect, value }, sealing, now());
      if (plan.kind === "refused") throw new Error(plan.message);
      for (const command of plan.commands) {
        const result = await cluster.write(command, { by: BY, timeoutMs: WRITE_MS, signal });
        if (result.kind === "ok") continue;
        if (OUTDATED.has(result.code)) return "stale";
        throw new Error(result.message);
      }
      return "stored";
    },
    async remove(table, id, version, signal) {
      const row = { id, ver: version };
      const command = table === "certificate" ? commands.certDelete(row) : commands.acmeDelete(row);
      // A refusal means that the row has changed; the next check deals with it.
      await cluster.write(command, { by: BY, timeoutMs: WRITE_MS, signal });
    },
    isLeader: () => cluster.status().role === "leader",
    whenCaughtUp: (signal) => cluster.readBarrier({ timeoutMs: READ_MS, signal }),
    async whenReplicated(signal) {
      const index = view.appliedIndex;
      const behind = (): boolean =>
        cluster.status().members.some(({ state, applied }) => state === "reachable" && (applied ?? 0) < index);
      if (!behind()) return;
      const limit = anySignal([signal, AbortSignal.timeout(SPREAD_MS)]);
      await new Promise<void>((resolve) => {
        const end = (): void => {
          unwatch();
          resolve();
        };
        const unwatch = cluster.onStatus(() => {
          if (!behind()) end();
        });
        limit.addEventListener("abort", end, { once: true });
      });
      signal.throwIfAborted();
    },
    onChange(listener) {
      const ends = [
        ...["cert/", "acme/", "ring/"].map((table) => view.watch(table, listener)),
        whenLeaderChanges(cluster, listener),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

function whenLeaderChanges(cluster: Cluster, listener: () => void): () => void {
  let { role } = cluster.status();
  return cluster.onStatus((status) => {
    if (status.role === role) return;
    role = status.role;
    listener();
  });
}
