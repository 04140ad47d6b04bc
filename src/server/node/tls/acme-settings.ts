/** ACME on this node: converts the node file's settings for `server/tls`, with storage in the cluster's rows. */

import { type Instruments, type Lifetime, type Log, systemClock } from "../../../base/index.ts";
import type { Cluster } from "../../cluster/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { readForwardProxies } from "../../forward-proxy/index.ts";
import {
  type AcmeSettings,
  type Certificates,
  type DnsProvider,
  HOSTED_API,
  hostedApiProvider,
  openAcme,
  rfc2136Provider,
  tsigKeyOf,
} from "../../tls/index.ts";
import type { NodeSealing } from "../admin/secrets-port.ts";
import { ConfigurationRefused } from "../configuration/environment-settings.ts";
import { certificateStore } from "./certificate-store.ts";

/** Default of `tls.ca` (specification document 2). */
export const PUBLIC_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory";

type Dns = NonNullable<NonNullable<NodeFile["tls"]>["dns"]>;

/** Environment variable that overrides the address of the hosted API. */
const API_IN_ENVIRONMENT = "GATEWAY_DNS_API_URL";

function dnsProviderOf(dns: Dns, { env, nameServers }: AcmeInputs): DnsProvider {
  const { now } = systemClock;
  if (dns.provider === "hosted_api") {
    const base = (env[API_IN_ENVIRONMENT] || HOSTED_API).replace(/\/$/, "");
    return hostedApiProvider({
      ...{ base, apiToken: dns.api_token ?? "", zoneToken: dns.zone_token, nameServers, now },
      proxies: readForwardProxies(env).proxies,
    });
  }
  const key = tsigKeyOf(dns.key_name ?? "", dns.key_alg ?? "", dns.key ?? "");
  if (key === undefined)
    throw new ConfigurationRefused([`tls.dns.key_alg: ${dns.key_alg} is not an algorithm of TSIG`]);
  return rfc2136Provider({ server: dns.server ?? "", key, nameServers, now });
}

interface AcmeInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Name servers to query instead of the system's; empty means the system's. */
  readonly nameServers: readonly string[];
}

/** Returns the settings; `undefined` if `tls` names no domains. Throws `ConfigurationRefused`. */
export function acmeSettingsOf({ tls }: NodeFile, inputs: AcmeInputs): AcmeSettings | undefined {
  if (tls?.domains === undefined) return undefined;
  const { eab } = tls;
  return {
    domains: tls.domains,
    email: tls.email ?? "",
    ca: tls.ca || PUBLIC_DIRECTORY,
    roots: tls.trusted_roots,
    eab: eab && { keyId: eab.key_id, macKey: eab.mac_key },
    dns: tls.dns && dnsProviderOf(tls.dns, inputs),
    dnsSettings: tls.dns,
    proxies: readForwardProxies(inputs.env).proxies,
  };
}

interface AcmeNodeOptions {
  readonly settings: AcmeSettings;
  readonly cluster: Cluster;
  /** Sealing of values; `undefined` on a node without a cluster secret. */
  readonly nodeSealing: NodeSealing | undefined;
  readonly version: string;
  /** Resolves once the data listener is open. */
  readonly listening: Promise<unknown>;
  readonly instruments: Instruments;
  readonly log: Log;
}

/** Opens the certificate orders; `owner` closes them. Throws `ConfigurationRefused`. */
export function openCertificateOrders(options: AcmeNodeOptions, owner: Lifetime): Certificates {
  const { settings, cluster, nodeSealing, version, listening, instruments, log } = options;
  // A valid node file never gets here: its reader refuses `tls.domains` without a cluster secret.
  if (nodeSealing === undefined) throw new ConfigurationRefused(["tls.domains needs `cluster.secret`"]);
  return owner.own(
    "certificate orders",
    openAcme({
      settings,
      store: certificateStore(cluster, nodeSealing, systemClock.now),
      userAgent: `gateway/${version}`,
      listening,
      now: systemClock.now,
      random: Math.random,
      instruments,
      log,
    }),
    (it) => it.close(),
  );
}
