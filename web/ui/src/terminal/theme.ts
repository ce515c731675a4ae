import type { ITerminalOptions, ITheme } from "@xterm/xterm";

/**
 * The colours of the system's light or dark mode. Programs choose their own colours for a dark ground, so on a light
 * one the widget darkens what could not be read (WCAG AA).
 */
export function appearance(): Pick<ITerminalOptions, "theme" | "minimumContrastRatio"> {
  return DARK_MODE.matches ? { theme: DARK, minimumContrastRatio: 1 } : { theme: LIGHT, minimumContrastRatio: 4.5 };
}

/** Calls back when the system changes its mode; returns what ends that. */
export function onAppearanceChange(act: () => void): () => void {
  DARK_MODE.addEventListener("change", act);
  return () => DARK_MODE.removeEventListener("change", act);
}

const DARK_MODE = matchMedia("(prefers-color-scheme: dark)");

const DARK: ITheme = {
  background: "#101216",
  foreground: "#e4e2dd",
  cursor: "#6fd6ca",
  cursorAccent: "#101216",
  selectionBackground: "#2f5f5c",
  scrollbarSliderBackground: "#ffffff26",
  scrollbarSliderHoverBackground: "#ffffff40",
  scrollbarSliderActiveBackground: "#ffffff59",
  black: "#23272e",
  red: "#f0777a",
  green: "#86cf8c",
  yellow: "#e3c070",
  blue: "#7fb4f5",
  magenta: "#cf9bec",
  cyan: "#6fd6ca",
  white: "#cfcdc8",
  brightBlack: "#868b95",
  brightRed: "#ff9a9c",
  brightGreen: "#a7e5ab",
  brightYellow: "#f3d798",
  brightBlue: "#a6cdff",
  brightMagenta: "#e2bdf7",
  brightCyan: "#9aeae0",
  brightWhite: "#faf8f4",
};

const LIGHT: ITheme = {
  background: "#fffefb",
  foreground: "#23252a",
  cursor: "#0b6663",
  cursorAccent: "#fffefb",
  selectionBackground: "#bfe3df",
  scrollbarSliderBackground: "#00000026",
  scrollbarSliderHoverBackground: "#00000040",
  scrollbarSliderActiveBackground: "#00000059",
  black: "#23252a",
  red: "#b3261e",
  green: "#1f6f3a",
  yellow: "#7a5500",
  blue: "#1f5fb8",
  magenta: "#8a3aa8",
  cyan: "#0b6663",
  white: "#6a6d75",
  brightBlack: "#5c5f66",
  brightRed: "#c8322a",
  brightGreen: "#237f43",
  brightYellow: "#8a6100",
  brightBlue: "#2a6fd1",
  brightMagenta: "#9a48ba",
  brightCyan: "#0e7673",
  brightWhite: "#3a3d44",
};
