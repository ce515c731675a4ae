import { useEffect } from "preact/hooks";

/**
 * Keeps an element inside what is really visible: the on-screen keyboard covers the page without resizing it, so the
 * element's height and place follow the visual viewport through two custom properties.
 */
export function useVisibleArea(): void {
  useEffect(() => {
    const viewport = window.visualViewport;
    if (!viewport) return;
    const listeners = new AbortController();
    const place = (): void => {
      // A person who pinches wants to look closer, not another layout.
      if (viewport.scale > 1.01) return;
      const { style } = document.documentElement;
      style.setProperty("--visible-height", `${viewport.height}px`);
      style.setProperty("--visible-top", `${viewport.offsetTop}px`);
    };
    place();
    viewport.addEventListener("resize", place, { signal: listeners.signal });
    viewport.addEventListener("scroll", place, { signal: listeners.signal });
    return () => listeners.abort();
  }, []);
}
