#!/bin/sh
env | grep -c '^HOME='
