/** Reader of the settings file, which is accepted completely or not at all. */

import type { NamedEndpoint, Settings, ThemeSpec } from "../model/settings.ts";
import { commandsIn } from "./command-settings.ts";
import { keysIn } from "./key-map.ts";
import { type Node, type Read, type Reader, readDocument } from "./settings-faults.ts";
import { BUILT_IN, themeIn } from "./themes.ts";

/** Reads the settings. `views` has the ids of the views. */
export function readSettings(text: string, views: readonly string[]): Read<Settings> {
  return readDocument(text, (root, reader) => {
    const names = ["theme", "themes", "keys", "commands", "mouse", "contexts"];
    const { theme, themes, keys, commands, mouse, contexts } = reader.fields(root, names, "the file");
    const own = new Map<string, ThemeSpec>();
    for (const [name, value, at] of reader.entries(themes, "themes")) {
      if (BUILT_IN.has(name) || name === "auto")
        reader.fault(at, `${name} is a built-in name`, "choose another name for the theme");
      own.set(name, themeIn(value, name, reader));
    }
    const chosen = reader.text(theme, "theme");
    if (chosen !== undefined && chosen !== "auto" && !BUILT_IN.has(chosen) && !own.has(chosen))
      reader.fault(
        theme,
        `there is no theme ${chosen}`,
        `there are auto, ${[...BUILT_IN.keys(), ...own.keys()].join(", ")}`,
      );
    const map = keysIn(keys, reader);
    return {
      theme: chosen === "auto" ? undefined : chosen,
      themes: own,
      keys: map,
      commands: commandsIn(commands, { reader, keys: map, views }),
      hasMouse: reader.boolean(mouse, "mouse"),
      contexts: contextsIn(contexts, reader),
    };
  });
}

/** Reads a file with one theme. */
export const readTheme = (text: string): Read<ThemeSpec> =>
  readDocument(text, (root, reader) => themeIn(root, "the theme", reader));

function contextsIn(node: Node, reader: Reader): readonly NamedEndpoint[] {
  return reader.entries(node, "contexts").flatMap(([name, value, at]): readonly NamedEndpoint[] => {
    if (!/^[\w.-]{1,64}$/.test(name))
      reader.fault(at, `'${name}' is not a name`, "use letters, digits, dots and dashes");
    const fields = reader.fields(value, ["url", "socket"], name);
    const url = reader.text(fields["url"], `url of ${name}`);
    const path = reader.text(fields["socket"], `socket of ${name}`);
    if (path !== undefined && url === undefined) return [{ name, endpoint: { kind: "socket", path } }];
    const urls = url?.split(",").map((one) => one.trim()) ?? [];
    if (path === undefined && urls.length > 0 && urls.every((one) => URL.canParse(one)))
      return [{ name, endpoint: { kind: "url", urls } }];
    reader.fault(at, `${name} has no address`, "give it `url: https://…` (several with commas) or `socket: /path`");
    return [];
  });
}
