/**
 * Assigns routes to providers.
 *
 * A provider has one failover list, and the first provider that claims a model serves it. So routes share a provider if they share
 * the upstream and all upstreams behind it. If a later upstream is sent another name, that name is an alias there. It counts only
 * in a failover, because an earlier provider claims the model.
 */

import type { Endpoint, Route, Step } from "./deployment-draft.ts";
import { pathNameOf } from "./escape-source-text.ts";
import type { AddNote, ForeignSource } from "./foreign-source.ts";

export interface Provider {
  name: string;
  readonly endpoint: Endpoint;
  readonly models: Set<string>;
  readonly aliases: Map<string, string>;
  readonly to: Provider[];
  readonly lines: Set<number>;
  timeoutMs: number | undefined;
}

export interface Routing {
  readonly providers: readonly Provider[];
  readonly defaultProvider: Provider | undefined;
}

/** A route whose name is empty if nothing is routed to it. */
type NamedRoute = Route & { readonly name: string };

/** Longest failover list. A client would not wait for more. */
const MAX_FAILOVERS = 16;
const MAX_MODEL_NAME = 512;

export function assignProviders(
  routes: readonly Route[],
  { addNote, leaveOut }: Pick<ForeignSource, "addNote" | "leaveOut">,
): Routing {
  const usable = routes.flatMap((route) => usableRoute(route, addNote));
  const inUse = new Set(usable.flatMap(({ steps }) => steps.map(({ unit }) => unit)));
  for (const { steps } of routes) for (const { unit } of steps) if (!inUse.has(unit)) leaveOut(unit);
  const exact = usable.filter(({ name }) => name !== "" && !name.endsWith("*"));
  const unnamed = usable.filter(({ name }) => name === "");
  // The longest prefix comes first, because the first provider that claims a model serves it.
  const patterns = usable.filter(({ name }) => name.endsWith("*")).sort((a, b) => b.name.length - a.name.length);
  const groups = new Map<string, { readonly provider: Provider; readonly routes: NamedRoute[] }>();
  let defaultGroup: Provider | undefined;
  const seen = new Set<string>();
  for (const route of [...exact, ...patterns, ...unnamed]) {
    const [first, ...others] = route.steps;
    if (first === undefined) continue;
    if (route.name !== "" && seen.has(route.name)) {
      addNote(route.at, route.path, "left out: an entry above has the same name, and the first one applies");
      continue;
    }
    seen.add(route.name);
    // Providers that claim patterns come after those that claim names.
    const signature = JSON.stringify([
      route.name.endsWith("*"),
      ...[first, ...others].map(({ endpoint }) => identity(endpoint)),
    ]);
    const group = groups.get(signature) ?? { provider: providerOf(first.endpoint), routes: [] };
    groups.set(signature, group);
    group.routes.push(route);
    group.provider.lines.add(first.line);
    if (route.name === "") continue;
    if (route.name === "*") defaultGroup = group.provider;
    else if (first.model === undefined || first.model === route.name) group.provider.models.add(route.name);
    else group.provider.aliases.set(route.name, first.model);
  }
  const providers = [...groups.values()].map(({ provider }) => provider);
  const hosts = hostsOf(providers);
  for (const [at, { provider, routes: ownRoutes }] of [...groups.values()].entries())
    addFailover(provider, at, ownRoutes, providers, hosts);
  name(providers);
  return { providers, defaultProvider: defaultGroup };
}

function addFailover(
  provider: Provider,
  at: number,
  routes: readonly NamedRoute[],
  providers: Provider[],
  hosts: Map<string, { readonly provider: Provider; readonly order: number }[]>,
): void {
  const length = routes[0]?.steps.length ?? 0;
  for (let position = 1; position < length; position += 1) {
    const endpoint = routes[0]?.steps[position]?.endpoint;
    if (endpoint === undefined) continue;
    const renamed = routes.flatMap((route) => {
      const model = route.steps[position]?.model;
      return model === undefined || model === route.name ? [] : [[route.name, model] as const];
    });
    const plain = routes.filter((route) => (route.steps[position]?.model ?? route.name) === route.name);
    const canAppend = (host: Provider, order: number): boolean =>
      host !== provider &&
      !provider.to.includes(host) &&
      (renamed.length === 0 || order > at) &&
      renamed.every(([from, to]) => (host.aliases.get(from) ?? to) === to && !host.models.has(from)) &&
      plain.every((route) => !host.aliases.has(route.name));
    const key = identity(endpoint);
    const known = hosts.get(key) ?? [];
    let found = known.find(({ provider: host, order }) => canAppend(host, order))?.provider;
    if (found === undefined) {
      found = providerOf(endpoint);
      known.push({ provider: found, order: Number.POSITIVE_INFINITY });
      hosts.set(key, known);
      providers.push(found);
    }
    for (const [from, to] of renamed) found.aliases.set(from, to);
    for (const route of routes) found.lines.add(route.steps[position]?.line ?? 1);
    provider.to.push(found);
  }
}

function hostsOf(
  providers: readonly Provider[],
): Map<string, { readonly provider: Provider; readonly order: number }[]> {
  const hosts = new Map<string, { readonly provider: Provider; readonly order: number }[]>();
  for (const [order, provider] of providers.entries()) {
    const key = identity(provider.endpoint);
    hosts.set(key, [...(hosts.get(key) ?? []), { provider, order }]);
  }
  return hosts;
}

function usableRoute(route: Route, addNote: AddNote): readonly NamedRoute[] {
  const { name = "", path, at } = route;
  const isPattern = name.endsWith("*");
  const problem = route.name === undefined ? undefined : nameProblem(name);
  if (problem !== undefined) {
    addNote(at, path, `left out: ${problem}`);
    return [];
  }
  const steps: Step[] = [];
  const seen = new Set<string>();
  for (const step of route.steps) {
    if (isPattern && step.model !== undefined && step.model !== name) {
      addNote(at, path, "left out: a pattern cannot change the name that is sent; add each model to `model_aliases`");
      continue;
    }
    if (step.model === "") {
      addNote(at, path, "left out in part: a model name is empty");
      continue;
    }
    const key = JSON.stringify([identity(step.endpoint), step.model ?? name]);
    if (seen.has(key)) continue;
    seen.add(key);
    steps.push(step);
  }
  if (steps.length > MAX_FAILOVERS + 1) {
    addNote(
      at,
      path,
      `${steps.length - 1} upstreams would take over, more than the ${MAX_FAILOVERS} that a failover can have; the first ${MAX_FAILOVERS} are imported`,
    );
  }
  return steps.length === 0 ? [] : [{ ...route, name, steps: steps.slice(0, MAX_FAILOVERS + 1) }];
}

function nameProblem(name: string): string | undefined {
  if (name === "" || name.length > MAX_MODEL_NAME) return `a model name has 1 to ${MAX_MODEL_NAME} characters`;
  if (/[\u0000-\u001f\u007f]/.test(name)) return "a model name cannot contain control characters";
  if (name.slice(0, -1).includes("*")) return "`*` can only be the last character of a name";
  if (name.includes("${") || name === "__proto__" || name === "<<")
    return "this name cannot be a key of a YAML document";
  return undefined;
}

/** Returns a text that is equal for endpoints that one provider can serve. */
function identity({ label: _, ...endpoint }: Endpoint): string {
  return JSON.stringify(
    Object.entries(endpoint)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function providerOf(endpoint: Endpoint): Provider {
  return {
    name: "",
    endpoint,
    models: new Set(),
    aliases: new Map(),
    to: [],
    lines: new Set(),
    timeoutMs: endpoint.timeoutMs,
  };
}

function name(providers: readonly Provider[]): void {
  const usedNames = new Set<string>();
  for (const provider of providers) {
    const base = pathNameOf(provider.endpoint.label) || "provider";
    for (let n = 1; provider.name === ""; n += 1) {
      const wanted = n === 1 ? base : `${base}-${n}`;
      if (!usedNames.has(wanted)) provider.name = wanted;
    }
    usedNames.add(provider.name);
  }
}
