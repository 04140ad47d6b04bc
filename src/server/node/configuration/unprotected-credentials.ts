/** Finds the upstreams whose deployment credential any client can use, since callers need not authenticate. */
import type { Snapshot } from "../../snapshot/index.ts";

/** Returns names such as `provider p`; empty with `auth`. */
function unprotectedUpstreams({ governance, providers, fronted }: Snapshot): readonly string[] {
  if (governance.auth !== undefined) return [];
  return [
    ...providers
      .filter(({ channels }) => channels.some(({ credential }) => credential !== undefined))
      .map(providerName),
    ...fronted.all.flatMap(({ kind, name, channel }) =>
      // Tokens are exchanged only for callers, and without authentication there are none.
      channel.credential === undefined || channel.credential.kind === "token_exchange"
        ? []
        : [`${kind === "mcp" ? "MCP server" : "agent"} ${name}`],
    ),
  ];
}

const providerName = ({ name }: { readonly name: string }): string => `provider ${name}`;

const MAX_SHOWN = 10;

/** Returns the warning; `undefined` if there is no such upstream. */
export function unprotectedCredentialWarning(snapshot: Snapshot): string | undefined {
  const open = unprotectedUpstreams(snapshot);
  if (open.length === 0) return undefined;
  const more = open.length > MAX_SHOWN ? ` and ${open.length - MAX_SHOWN} more` : "";
  return `everybody who can reach the data listener can use the credential of ${open.slice(0, MAX_SHOWN).join(", ")}${more}: set \`auth\`, or leave the credential to the callers`;
}
