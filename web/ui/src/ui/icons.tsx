import type { ComponentChildren } from "preact";

/** The product's mark: a fan light above a door. */
export const Mark = () => (
  <svg class="icon mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="#0b6663" />
    <path d="M7 15a9 9 0 0 1 18 0z" fill="#bff0e8" />
    <path d="M16 15V6M16 15 9.7 8.7M16 15l6.3-6.3" stroke="#0b6663" stroke-width="1.6" fill="none" />
    <path d="M7 18.5h18V26H7z" fill="#eafaf7" />
    <path
      d="m10.5 20.4 2 1.9-2 1.9M14.5 24.2h4"
      stroke="#0b6663"
      stroke-width="1.6"
      fill="none"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
);

export const Back = () => <Line>{<path d="m14.5 5-7 7 7 7" />}</Line>;
export const Eye = () => (
  <Line>
    <path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z" />
    <circle cx="12" cy="12" r="2.8" />
  </Line>
);
export const Whole = () => (
  <Line>
    <rect x="3" y="5" width="18" height="14" rx="2" />
    <path d="M7 12h10M9.5 9.5 7 12l2.5 2.5M14.5 9.5 17 12l-2.5 2.5" />
  </Line>
);
export const Readable = () => <Line>{<path d="m3 18 5-12 5 12M4.8 14h6.4M15 18l3-7.5 3 7.5M16 15.5h4" />}</Line>;
export const Send = () => <Line>{<path d="M12 19V5M5.5 11.5 12 5l6.5 6.5" />}</Line>;
export const Arrow = ({ turn }: { turn: number }) => (
  <svg class="icon line" viewBox="0 0 24 24" aria-hidden="true" style={{ transform: `rotate(${turn}deg)` }}>
    <path d="M12 19V5M6 11l6-6 6 6" />
  </svg>
);

function Line({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon line" viewBox="0 0 24 24" aria-hidden="true">
      {children}
    </svg>
  );
}
