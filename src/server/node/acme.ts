/** ACME on this node: what the node file asks for, in the terms of `server/tls`, over the cluster's rows. */
import { type Instruments, type Lifetime, type Log, systemClock } from "../../base/index.ts";
import type { Cluster } from "../cluster/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import { type AcmeSettings, type Certificates, openAcme } from "../tls/index.ts";
import type { SealingHere } from "./admin-secrets.ts";
import { certificateStore } from "./certificate-store.ts";
import { ConfigurationRefused } from "./refused.ts";

/** Specification document 2, `tls.ca`: where it is empty. */
export const PUBLIC_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory";

/** Undefined where `tls` names no domains. */
export function acmeSettingsOf({ tls }: NodeFile): AcmeSettings | undefined {
  if (tls?.domains === undefined) return undefined;
  const { eab } = tls;
  return {
    domains: tls.domains,
    email: tls.email ?? "",
    ca: tls.ca || PUBLIC_DIRECTORY,
    roots: tls.trusted_roots,
    eab: eab && { keyId: eab.key_id, macKey: eab.mac_key },
    dns: undefined,
    dnsSettings: tls.dns,
  };
}

export interface AcmeNodeOptions {
  readonly settings: AcmeSettings;
  readonly cluster: Cluster;
  /** Undefined on a node without a cluster secret. */
  readonly here: SealingHere | undefined;
  readonly version: string;
  readonly instruments: Instruments;
  readonly log: Log;
}

/** What is opened belongs to `owner`. Throws `ConfigurationRefused`. */
export function openCertificateOrders(options: AcmeNodeOptions, owner: Lifetime): Certificates {
  const { settings, cluster, here, version, instruments, log } = options;
  if (here === undefined) throw new ConfigurationRefused([NEEDS_SECRET]);
  return owner.own(
    "certificate orders",
    openAcme({
      settings,
      store: certificateStore(cluster, here, systemClock.now),
      userAgent: `gateway/${version}`,
      now: systemClock.now,
      random: Math.random,
      instruments,
      log,
    }),
    (it) => it.close(),
  );
}

export const NEEDS_SECRET =
  "tls.domains: the keys of certificates are sealed with a key that `cluster.secret` derives: set it in the node file";
