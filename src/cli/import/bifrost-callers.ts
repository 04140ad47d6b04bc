/** Converts `governance`: virtual keys to profiles, limits of tokens and requests to budgets. The keys themselves are not imported. */

import type { Draft, Entry, ReaderInput, Route } from "./deployment-draft.ts";
import { windowOf } from "./durations.ts";
import { escapeReferences, labelOf, patternsOf } from "./escape-source-text.ts";
import type { Section } from "./foreign-source.ts";
import { limitedProfile } from "./limited-profile.ts";

type Callers = Pick<Draft, "auth" | "budgets" | "profiles">;

interface CallerFacts {
  readonly enforced: boolean;
  readonly emptyMeansAll: boolean;
  /** Routes by provider. */
  readonly served: ReadonlyMap<string, readonly Route[]>;
}

export function bifrostCallers(reading: ReaderInput, { enforced, emptyMeansAll, served }: CallerFacts): Callers {
  const section = reading.source.root.section("governance");
  if (section === undefined) return { auth: enforced };
  const limits = new Map(
    section.sections("rate_limits").map((limit) => {
      const id = limit.text("id") ?? "";
      const read = {
        tokens: limit.number("token_max_limit"),
        tokenWindow: windowOf(limit.text("token_reset_duration") ?? ""),
        requests: limit.number("request_max_limit"),
        requestWindow: windowOf(limit.text("request_reset_duration") ?? ""),
      };
      limit.noteUnread({}, "left out: windows are aligned to the clock in UTC, and earlier usage does not count");
      return [id, read] as const;
    }),
  );
  const profiles: Entry[] = [];
  const budgets: Entry[] = [];
  const names = new Set<string>();
  for (const key of section.sections("virtual_keys")) {
    const name = labelOf(key.text("name") ?? key.text("id") ?? "");
    key.leaveOutKey("id", "left out: a new key gets a new id");
    if (name === "" || names.has(name) || key.flag("is_active") === false) {
      key.addNote("name", "left out: the key is disabled, or has no unique name");
      reading.source.leaveOut(key.path);
      continue;
    }
    names.add(name);
    const allowed = allowedBy(key, emptyMeansAll, served);
    const limit = limits.get(key.text("rate_limit_id") ?? "") ?? {
      tokens: undefined,
      requests: undefined,
      tokenWindow: undefined,
      requestWindow: undefined,
    };
    key.leaveOutKey(
      "value",
      `not copied: mint a new key with this profile (\`gateway keys mint NAME -profile PROFILE\`)`,
    );
    key.noteUnread(KEY_ADVICE, "left out: no counterpart");
    const deny = {
      access_rules: [
        { name: "no models", condition: "true", action: "deny", message: "This key may ask for no model." },
      ],
    };
    const made = limitedProfile(
      key,
      name,
      limit,
      allowed.length === 0 ? deny : { allowed_models: allowed.includes("*") ? [] : allowed },
    );
    profiles.push(made.profile);
    if (made.budget !== undefined) budgets.push(made.budget);
  }
  if (profiles.length > 0 && !enforced) {
    section.addNote(
      "virtual_keys",
      "Bifrost does not require keys here, so the document has no `auth`; the profiles apply once you add `auth: { virtual_keys: true }`",
    );
  }
  // `bifrost-rules.ts` imports the routing rules. Reading them here prevents a note that they were left out.
  section.tree("routing_rules");
  section.noteUnread(GOVERNANCE_ADVICE, "left out: no counterpart");
  return { auth: enforced, budgets, profiles: () => profiles };
}

/** Returns the models that a key allows: none if empty, all for `*`. */
function allowedBy(key: Section, emptyMeansAll: boolean, served: CallerFacts["served"]): readonly string[] {
  if (key.flag("allow_all_providers") === true) {
    key.leaveOutKey("provider_configs", "left out: `allow_all_providers` allows all of them");
    return ["*"];
  }
  if (!key.has("provider_configs")) {
    if (emptyMeansAll) return ["*"];
    key.addNote("name", "it names no providers, which allows none in version 2; the profile denies every model");
    return [];
  }
  const configs = key.sections("provider_configs");
  if (configs.length === 0 && emptyMeansAll) return ["*"];
  const names = configs.flatMap((config) => {
    const provider = config.text("provider");
    const models = patternsOf(config, "allowed_models");
    config.ignore("id");
    config.noteUnread(CONFIG_ADVICE, "left out: no counterpart");
    if (provider === undefined || !/^[\w.-]{1,128}$/.test(provider)) {
      config.addNote("provider", "left out: expected the name of a provider");
      return [];
    }
    const isAll = models.includes("*") || (models.length === 0 && (emptyMeansAll || !config.has("allowed_models")));
    const routed = (served.get(provider) ?? []).flatMap(({ name }) =>
      name === undefined ? [] : escapeReferences(name),
    );
    if (routed.length === 0) {
      config.addNote("provider", "left out: nothing is routed to this provider");
      return [];
    }
    if (isAll) return routed;
    return models
      .filter((model) => model !== "" && !model.includes("*"))
      .flatMap((model) => {
        // Clients ask for `provider/model`, or for the model alone if a key serves all models.
        const names = [`${provider}/${model}`, model].filter((it) => routed.some((route) => claims(route, it)));
        if (names.length === 0)
          config.addNote("allowed_models", "left out in part: no key of this provider lists one of the models");
        return names;
      });
  });
  return [...new Set(names)];
}

const claims = (route: string, name: string): boolean =>
  route.endsWith("*") ? name.startsWith(route.slice(0, -1)) : name === route;

const KEY_ADVICE: Readonly<Record<string, string>> = {
  budget_id: "left out: budgets count tokens or a CEL cost instead of dollars; add one with your prices",
  budgets: "left out: budgets count tokens or a CEL cost instead of dollars; add one with your prices",
  team_id: "left out: there are no teams; a shared budget (`shared: true`) counts several keys together",
  customer_id: "left out: there are no customers; a shared budget (`shared: true`) counts several keys together",
  expires_at: "left out: set the expiry when you mint the key (`gateway keys mint -expires`)",
  description: "left out: set `metadata` when you mint the key",
  mcp_configs: "left out: access rules decide which servers and tools a key may call",
};

const CONFIG_ADVICE: Readonly<Record<string, string>> = {
  weight: "left out: load is not spread by weight",
  key_ids: "left out: callers do not choose among the keys of a provider",
  budget_id: "left out: budgets apply to callers",
  budgets: "left out: budgets apply to callers, over all providers",
  rate_limit_id: "left out: budgets apply to callers",
  rate_limit: "left out: budgets apply to callers, over all providers",
};

const GOVERNANCE_ADVICE: Readonly<Record<string, string>> = {
  budgets: "left out: budgets count tokens or a CEL cost instead of dollars; add one with your prices",
  customers: "left out: a shared budget (`shared: true`) counts several keys together",
  teams: "left out: a shared budget (`shared: true`) counts several keys together",
  auth_config: "left out, and not copied: `admin` of the node file decides how operators sign in",
  pricing_overrides: "left out: prices can be part of the CEL cost of a budget",
  model_configs: "left out: budgets apply to callers and not to models; a CEL cost can depend on the model",
  providers: "left out: budgets apply to callers and not to providers",
};
