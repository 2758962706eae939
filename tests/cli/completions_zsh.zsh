# SPDX-License-Identifier: Apache-2.0
# zsh -f completions_zsh.zsh FOLDER "WORDS": what zsh offers after these words, by the file _rotary of the folder: the text of
# a terminal in which Tab was pressed.
zmodload zsh/zpty || exit 77
zpty shell zsh -f -i
zpty -w shell "PS1=; PS2=; stty columns 200 rows 200; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
zpty -w shell "bindkey '^I' list-choices; LISTMAX=100000; PS1='REA''DY'"
# The quotes within READY and OVER keep the commands that are typed from being taken for them.
zpty -r shell text '*READY*' || exit 1
zpty -w -n shell "$2"$'\t'
zpty -w -n shell $'\C-u'"print OV''ER"$'\n'
zpty -r shell text '*OVER*' || exit 1
print -r -- "$text"
zpty -d shell
