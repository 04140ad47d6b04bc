/** Imports the reader of settings and themes, which needs a YAML parser; a console without either starts without it. */

export const settingsReader = () => import("./read-settings.ts");
