"""What a question to `forget --query` is about, and which memories name it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.about import Subject, names, subject_of
from memcli.errors import UsageError

QUESTIONS = {
    "Corin": ["Corin"],
    "Forget Corin": ["Corin"],
    "everything about Corin": ["Corin"],
    "all I told you about my ex-partner Corin": ["Corin"],
    "Please forget everything I ever told you about Corin.": ["Corin"],
    "everything about Corin that I told you": ["Corin"],
    "anything to do with Corin": ["Corin"],
    "everything Corin-related": ["Corin"],
    "all memories of Corin, please": ["Corin"],
    "everything about Corin's": ["Corin"],
    "everything about Will": ["Will"],
    "everything about Corin and Dorian": ["Corin", "Dorian"],
    "my brother Dorian Smith": ["Dorian Smith"],
    "my dog Rex": ["Rex"],
    "my brother Dorian and my dog Rex": ["Dorian", "Rex"],
    "Corin and everything about the Berlin trip": ["Corin", "Berlin trip"],
    "everything about my ex": ["ex"],
    "forget what I said about the Berlin trip": ["Berlin trip"],
    "the Berlin trip stuff": ["Berlin trip"],
    "my trip to Berlin": ["trip to Berlin"],
    "the red BMW": ["red BMW"],
    "what I said about Corin's flat": ["Corin's flat"],
    "salt and pepper": ["salt and pepper"],
    'everything about "The Who"': ["The Who"],
    "everything about C++": ["C++"],
    "corin@example.com": ["corin@example.com"],
    "alles über Corin": ["Corin"],
    "小李": ["小李"],
    "忘了小李": ["小李"],
    "关于小李的所有事情": ["小李"],
    "忘掉关于小李的一切": ["小李"],
    "把关于小李的一切都忘掉吧": ["小李"],
    "所有和小李有关的": ["小李"],
    "和小李相关的所有记忆": ["小李"],
    "所有提到小李的记忆": ["小李"],
    "忘记我跟你说的所有关于小李的事": ["小李"],
    "我的同事小李": ["小李"],
    "关于我前任柯林的一切": ["柯林"],
    "关于小李和小王的事": ["小李", "小王"],
    "我告诉过你的关于柏林旅行的事情": ["柏林旅行"],
    "世界和平": ["世界和平"],
    "将军": ["将军"],
    "关于iPhone的一切": ["iPhone"],
    "コリンについてのすべて": ["コリン"],
    "코린에 대한 모든 것": ["코린"],
    "코린에 대한 건 다 잊어줘": ["코린"],
    "코린 얘기는 전부 지워줘": ["코린"],
    "コリンの話は忘れて": ["コリン"],
    "把小李的事全忘掉": ["小李"],
    "别再记着小李的事了": ["小李"],
    "我和小李之间的所有事情": ["小李"],
    "забудь всё про Корина": ["Корина"],
    "olvida todo lo que te dije sobre Corin": ["Corin"],
    "Bitte lösche alles, was ich über Corin gesagt habe": ["Corin"],
    "oublie tout ce que j'ai dit sur Corin": ["Corin"],
}


@pytest.mark.parametrize("query", QUESTIONS)
def test_question_is_about_what_is_left_without_its_frame(query):
    assert list(subject_of(query).terms) == QUESTIONS[query]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "  ",
        "???",
        "all",
        "everything",
        "forget everything",
        "everything I told you",
        "all memories",
        "everything about me",
        "全部",
        "所有",
        "忘掉一切",
        "忘掉所有事情",
        "关于我的一切",
    ],
)
def test_question_that_names_nothing_is_refused_with_a_hint(query):
    with pytest.raises(UsageError) as error:
        subject_of(query)
    assert "--all" in error.value.hint


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Corin", "Corin lives on Quayside Row."),
        ("Corin", "I met Corin."),
        ("Corin", "that is Corin's flat"),
        ("Corin", "that is Corin’s flat"),
        ("Corin", "Ｃｏｒｉｎ called"),
        ("Corin", "和Corin吵架"),
        ("corin", "Corin called"),
        ("James", "at James' place"),
        ("Corin and Dorian", "Dorian lives on Mill Lane."),
        ("chess", "CHESS club"),
        ("box", "two boxes"),
        ("Berlin trip", "our Berlin trips"),
        ("Berlin trip", "the Berlin\ntrip's cost"),
        ("C++", "I like C++."),
        ("小李", "我和同事小李吵了一架"),
        ("コリン", "コリンさんに会った"),
        ("코린", "코린은 친구"),
        ("всё про Игоря", "Игорь должен мне денег"),
        ("Марина", "вчера видели Марину"),
        ("กรุงเทพ", "ไปกรุงเทพมา"),
    ],
)
def test_memory_names_the_subject(query, text):
    assert names(subject_of(query), text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Li", "Lisbon is sunny"),
        ("Will", "will you come"),
        ("Will", "where there is a WILL"),
        ("Corin", "Corinna called"),
        ("Luc", "Jean-Luc called"),
        ("Anna", "Anna-Maria called"),
        ("cat", "a category"),
        ("Dorian Smith", "Dorian called"),
        ("Berlin trip", "a trip to Berlin"),
        ("Игоря", "игорный дом"),
        ("Марина", "Маринад готов"),
        ("小李", "小王今天又迟到了"),
    ],
)
def test_memory_does_not_name_the_subject(query, text):
    assert not names(subject_of(query), text)


@given(st.text())
def test_any_question_is_answered_or_refused(query):
    try:
        subject = subject_of(query)
    except UsageError:
        return
    assert subject.terms
    assert all(term.strip() for term in subject.terms)


@given(st.text(), st.text(), st.sampled_from(["Corin", "Berlin trip", "小李", "C++"]))
def test_term_that_stands_alone_is_always_named(before, after, term):
    assert names(Subject((term,)), f"{before} {term} {after}")
