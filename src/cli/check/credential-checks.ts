/**
 * Checks of `gateway check` for credentials: whether each can be obtained. Static keys are tested by the requests that
 * carry them. Source: specification document 1, "gateway check".
 */
import { anySignal } from "../../base/index.ts";
import type { Credential, Presenter } from "../../server/credentials/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import { PLACEHOLDER_SECRET } from "../../server/secrets/index.ts";
import type { Probe } from "./probe.ts";

/** Returns one probe per credential; for one that signs, one per API that it is used for. */
export function credentialProbes({ compiled: { snapshot } }: LoadedNode, presenter: Presenter): readonly Probe[] {
  const channels = [
    ...snapshot.providers.flatMap((provider) => provider.channels),
    ...snapshot.fronted.all.map((it) => it.channel),
  ];
  const used = new Map(
    channels.flatMap(({ credential }): [string, Credential][] =>
      credential === undefined || credential.kind === "api_key" ? [] : [[credential.digest, credential]],
    ),
  );
  return [...used.values()].map((credential) => {
    const subject = `credential ${credential.name}`;
    return {
      subject,
      async run({ signal, timeoutMs }) {
        if (isSealed(credential))
          return { verdict: "note", subject, message: "not tested, since it is sealed in the cluster" };
        const limit = anySignal([signal, AbortSignal.timeout(timeoutMs)]);
        const { verdict, detail: message } = await presenter.check(credential, limit);
        return { subject, verdict, message };
      },
    };
  });
}

/** Returns whether a part of the credential is sealed in the cluster, so that no file of this node contains it. */
export function isSealed(credential: Credential | undefined): boolean {
  return credential !== undefined && JSON.stringify(credential).includes(PLACEHOLDER_SECRET);
}
