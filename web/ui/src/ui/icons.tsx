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

export const Search = () => <Line>{<path d="M11 4.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.700 15.700 20 20" />}</Line>;
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
export const People = () => (
  <Line>
    <circle cx="9" cy="8.5" r="3.2" />
    <path d="M3 19c.4-3.4 2.8-5.3 6-5.3s5.6 1.9 6 5.3" />
    <path d="M15.5 5.600a3.2 3.2 0 0 1 0 5.800M17.5 14.200c1.9.7 3.1 2.3 3.5 4.8" />
  </Line>
);
export const More = () => (
  <svg class="icon" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">
    <circle cx="12" cy="5.5" r="1.7" />
    <circle cx="12" cy="12" r="1.7" />
    <circle cx="12" cy="18.5" r="1.7" />
  </svg>
);
export const Frame = () => <Line>{<path d="M4 9V5.500A1.5 1.5 0 0 1 5.5 4H9M15 4h3.500A1.5 1.5 0 0 1 20 5.500V9M20 15v3.500a1.5 1.5 0 0 1-1.5 1.500H15M9 20H5.500A1.5 1.5 0 0 1 4 18.500V15" />}</Line>;
export const Download = () => <Line>{<path d="M12 4v11M7 10.500l5 5 5-5M5 20h14" />}</Line>;
export const Stop = () => <Line>{<rect x="6" y="6" width="12" height="12" rx="2" />}</Line>;
export const Bin = () => <Line>{<path d="M4.5 7h15M9.5 7V4.500h5V7M6.5 7l.9 12.500h9.200L17.5 7M10 11v5M14 11v5" />}</Line>;
export const Close = () => <Line>{<path d="m6.5 6.5 11 11M17.5 6.500l-11 11" />}</Line>;
export const SplitRight = () => <Line>{<path d="M5.5 5h13A1.5 1.5 0 0 1 20 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 17.5v-11A1.5 1.5 0 0 1 5.5 5zM12 5v14" />}</Line>;
export const SplitBelow = () => <Line>{<path d="M5.5 5h13A1.5 1.5 0 0 1 20 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 17.5v-11A1.5 1.5 0 0 1 5.5 5zM4 12h16" />}</Line>;
export const Down = () => <Line>{<path d="M12 5v14M6 13l6 6 6-6" />}</Line>;
export const Copy = () => <Line>{<path d="M9 9h10v11H9zM5 15V4h10" />}</Line>;
export const Glass = () => <Line>{<path d="M10.5 4.500a6 6 0 1 1 0 12 6 6 0 0 1 0-12zM15 15l5 5" />}</Line>;
export const Clip = () => <Line>{<path d="M8 6H5.500v14h13V6H16M9 4h6v4H9z" />}</Line>;
export const Keys = () => <Line>{<path d="M3 7h18v10H3zM6.500 10.500h.01M10 10.500h.01M14 10.500h.01M17.500 10.500h.01M8 14h8" />}</Line>;
export const GoTo = () => <Line>{<path d="M4 6.500h6M4 12h6M4 17.500h10M13.500 9h7M17.500 6l3 3-3 3" />}</Line>;
export const Pen = () => <Line>{<path d="m4.500 19.500 1-4.200L16.200 4.600a1.500 1.500 0 0 1 2.100 0l1.100 1.100a1.500 1.500 0 0 1 0 2.100L8.700 18.500zM14 7l3 3" />}</Line>;
export const Voice = () => <Line>{<path d="M4 10v4h4l5 4V6L8 10zM16.500 9a4 4 0 0 1 0 6M19 6.500a8 8 0 0 1 0 11" />}</Line>;
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
