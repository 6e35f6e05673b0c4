"""How a process ended, as shells, launchers, containers and IDEs print it."""

from __future__ import annotations

from pitstop.diagnosis.log.signs.sign import Sign, Weight, line

_WORD = (
    r"[Kk]illed|[Ss]egmentation fault|[Aa]borted|[Aa]bort(?= )|[Bb]us error|[Tt]erminated|Hangup"
    r"|[Ff]loating[ -]point exception|[Ii]llegal (?:hardware )?instruction|Quit|Alarm clock"
    r"|User defined signal [12]"
    r"|CPU ?[Tt]ime limit exceeded|File ?[Ss]ize limit exceeded|Trace/\w+ trap|Bad system call"
    r"|cpu ?time limit exceeded|file ?size limit exceeded|trace/\w+ trap"
    r"|已杀死|已终止|段错误|Getötet|Processus arrêté|Убито|強制終了|죽었음"
)
_HEADLINE = "The process was ended by {signal}."
_CODE_HEADLINE = "The process ended with exit code {code}."

STATUSES = (
    Sign(
        line(
            # bash: "Killed", "train.sh: line 3:  4711 Killed   python ..."
            rf"^\S+: (?:line |行 ?)?\d+: +\d+ (?P<job>{_WORD})",
            rf"^\W{{0,4}}(?P<signal>{_WORD})\W*"
            r"(?:\((?:core dumped|signal \d+|.{0,12})\))?(?:\s{2,}\S.*|\W*)$",
            # the same, its beginning cut off: " 4711 Illegal instruction  (core dumped) python"
            rf"^ *\d+ (?P<cut>{_WORD}) +\(core dumped\) \S",
            # the same, in a sentence about it
            rf"^.*[`'\"](?P<told>{_WORD})(?: \(core dumped\)|(?<=Killed))[`'\"].*$",
            # Slurm's srun tells of tasks: "error: node1: tasks 0-3: Killed"
            rf"^.*error: \S+: tasks? [\d,-]+: (?P<srun>{_WORD})\b.*$",
            # zsh: "zsh: killed     python train.py"; [1]  + 4711 killed
            rf"^(?:zsh: |\[\d+\]\s+[+-]?\s+\d+ )(?P<word>{_WORD})\b.*$",
            # fish, systemd, Python, C++ launchers
            r"^.*(?:terminated by|died with|interrupted by|exited (?:on|due to)|killed by|received"
            r"|ended by|terminated with|crashed with|failed due to|exited with)"
            r"(?: a)?(?: unhandled)? (?:exit )?<?[Ss]ignals?[ .:]*(?:\()?(?P<by>SIG[A-Z0-9]+|\d+|"
            rf"{_WORD}).*$",
            r"^.*\*\*\* (?P<absl>SIG(?:HUP|INT|QUIT|TERM|USR[12]|XCPU)) (?:\(@\w+\) )?received.*$",
            r"^.*Unexpected (?P<worker>[a-z -]+) encountered in worker.*$",
            r"^.*Main process exited, code=(?:killed|dumped), status=(?P<status>\d+)/.*$",
            r"^\*\*\* Process received signal \*\*\*\n.*\n?.*Signal: (?P<mpi>[A-Z][a-z ]+) \(.*$",
            r"^.*Caught signal (?P<caught>\d+) \(.*$",
            r"^\s*Signal: +(?P<k8s>\d+)$",
            r"^.*(?:[Pp]rocess|[Ww]orker|[Pp]id)\b.{0,80}\bgot signal: (?P<got>\d+).*$",
        ),
        None,
        _HEADLINE,
        weight=Weight.STATUS,
    ),
    Sign(
        line(
            r"^.*\b(?:[Ee]xit|[Rr]eturn|[Ss]tatus)[ _]?(?:[Cc]ode|[Ss]tatus)?\"?\s*"
            r"(?:was |is |of )?[:=]?\s*(?P<code>-?\d+|0x[0-9A-Fa-f]{8})\b.*$",
            r"^.*(?:退出代码|終了コード|종료 코드)[^\d-]{0,4}(?P<finished_as>-?\d+)\b.*$",
            r"^.*\b[Ee]xited (?:with (?:code|status)?|\()\s*(?P<exited>-?\d+)\b.*$",
            r"^.*[Ff]inished with exit code (?P<finished>-?\d+).*$",
            r"^.*returned? (?:with )?(?:a )?(?:non-zero )?(?:exit )?(?:code|status):? "
            r"(?P<returned>-?\d+).*$",
            r"^.*exits with return code = (?P<deepspeed>-?\d+).*$",
        ),
        None,
        _CODE_HEADLINE,
        weight=Weight.STATUS,
    ),
)
