// Runs before anything is painted: the theme of the user, and the token, which leaves the address at once.
"use strict";
(() => {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  const given = /^#token=([\w-]+)(.*)$/s.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", given[1]);
    history.replaceState(null, "", given[2] ? `/#${given[2].replace(/^#/, "")}` : "/");
  }
  const hex = /^#hex=([^&]*)(.*)$/s.exec(location.hash);
  if (hex) history.replaceState(null, "", `/#/bytes?hex=${hex[1]}${hex[2]}`);
})();
