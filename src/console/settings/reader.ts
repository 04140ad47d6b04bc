/** Imports what reads settings and themes, which parses YAML; a console without either starts without it. */

export const settingsReader = () => import("./read.ts");
